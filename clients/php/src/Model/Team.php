<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class Team
{
    /** @param bool $personal The team that was made with the key's user. */
    public function __construct(
        public readonly string $id,
        public readonly string $slug,
        public readonly string $plan,
        public readonly bool $personal,
        public readonly Role $role,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            id: $fields->string('id'),
            slug: $fields->string('slug'),
            plan: $fields->string('plan'),
            personal: $fields->bool('personal'),
            role: $fields->enum('role', Role::class),
        );
    }
}
