<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** Through an identity provider: GET /v1/login/oidc. */
final class LoginWaysOidc
{
    public function __construct(
        public readonly string $name,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            name: $fields->string('name'),
        );
    }
}
