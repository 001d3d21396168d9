<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class UpdatedTeam
{
    public function __construct(
        public readonly string $slug,
        public readonly string $plan,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            slug: $fields->string('slug'),
            plan: $fields->string('plan'),
        );
    }
}
