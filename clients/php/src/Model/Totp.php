<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class Totp
{
    /** @param string $url otpauth://, for an authenticator application. */
    public function __construct(
        public readonly string $secret,
        public readonly string $url,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            secret: $fields->string('secret'),
            url: $fields->string('url'),
        );
    }
}
