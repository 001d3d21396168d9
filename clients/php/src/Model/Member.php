<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class Member
{
    /** @param \DateTimeImmutable|null $addedAt null: before that was written down. */
    public function __construct(
        public readonly string $name,
        public readonly Role $role,
        public readonly ?\DateTimeImmutable $addedAt,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            name: $fields->string('name'),
            role: $fields->enum('role', Role::class),
            addedAt: $fields->timeOrNull('added_at'),
        );
    }
}
