<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class LoginWays
{
    /**
     * @param bool $password With name and password.
     * @param LoginWaysOidc|null $oidc Through an identity provider: GET /v1/login/oidc.
     * @param bool $header Users of the console have signed in at a proxy already: POST /v1/login/header.
     */
    public function __construct(
        public readonly bool $password,
        public readonly ?LoginWaysOidc $oidc,
        public readonly bool $header,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            password: $fields->bool('password'),
            oidc: $fields->objectOrNull('oidc', LoginWaysOidc::read(...)),
            header: $fields->bool('header'),
        );
    }
}
