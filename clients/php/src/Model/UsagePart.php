<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** Has `day` or `id`, as the request asks. */
final class UsagePart
{
    /**
     * @param string|null $day By day: which one, in UTC.
     * @param string|null $id By sandbox: of the sandbox, or of the checkpoint or volume that is kept.
     * @param string|null $name By sandbox: its present name; null: none.
     */
    public function __construct(
        public readonly UsagePartRuntime $runtime,
        public readonly UsagePartStorage $storage,
        public readonly ?string $day,
        public readonly ?string $id,
        public readonly ?string $name,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            runtime: $fields->object('runtime', UsagePartRuntime::read(...)),
            storage: $fields->object('storage', UsagePartStorage::read(...)),
            day: $fields->stringOrNull('day'),
            id: $fields->stringOrNull('id'),
            name: $fields->stringOrNull('name'),
        );
    }
}
