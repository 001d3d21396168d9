<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class TeamList
{
    /**
     * @param list<Team> $teams
     * @param string|null $defaultTeam The team of requests that name none; null: they have to.
     * @param string|null $nextToken Absent on the last page.
     */
    public function __construct(
        public readonly array $teams,
        public readonly ?string $defaultTeam,
        public readonly ?string $nextToken,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            teams: $fields->objects('teams', Team::read(...)),
            defaultTeam: $fields->stringOrNull('default_team'),
            nextToken: $fields->stringOrNull('next_token'),
        );
    }
}
