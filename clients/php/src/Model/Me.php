<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class Me
{
    /**
     * @param Key|null $key null for one who has signed in.
     * @param list<Team> $teams
     * @param string|null $defaultTeam The team of requests that name none; null: they have to.
     * @param LoginSession|null $session null for a key.
     * @param bool $operator Whether the user owns the deployment's own team, whose templates everybody uses.
     * @param bool|null $secondFactor Whether signing in takes a code besides the password; null for a key.
     */
    public function __construct(
        public readonly User $user,
        public readonly ?Key $key,
        public readonly array $teams,
        public readonly ?string $defaultTeam,
        public readonly ?LoginSession $session,
        public readonly bool $operator,
        public readonly ?bool $secondFactor,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            user: $fields->object('user', User::read(...)),
            key: $fields->objectOrNull('key', Key::read(...)),
            teams: $fields->objects('teams', Team::read(...)),
            defaultTeam: $fields->stringOrNull('default_team'),
            session: $fields->objectOrNull('session', LoginSession::read(...)),
            operator: $fields->bool('operator'),
            secondFactor: $fields->boolOrNull('second_factor'),
        );
    }
}
