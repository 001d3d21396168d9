<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class Usage
{
    /**
     * @param list<UsagePart>|null $parts Only with `by`. By day: the days in which something was used. By sandbox:
     *   the 1000 that used most processor time, and then storage.
     */
    public function __construct(
        public readonly string $team,
        public readonly \DateTimeImmutable $from,
        public readonly \DateTimeImmutable $to,
        public readonly UsageRuntime $runtime,
        public readonly UsageStorage $storage,
        public readonly ?array $parts,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            team: $fields->string('team'),
            from: $fields->time('from'),
            to: $fields->time('to'),
            runtime: $fields->object('runtime', UsageRuntime::read(...)),
            storage: $fields->object('storage', UsageStorage::read(...)),
            parts: $fields->objectsOrNull('parts', UsagePart::read(...)),
        );
    }
}
