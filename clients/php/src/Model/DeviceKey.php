<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class DeviceKey
{
    /** @param string $accessToken The API key. */
    public function __construct(
        public readonly string $accessToken,
        public readonly DeviceKeyTokenType $tokenType,
        public readonly Key $key,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            accessToken: $fields->string('access_token'),
            tokenType: $fields->enum('token_type', DeviceKeyTokenType::class),
            key: $fields->object('key', Key::read(...)),
        );
    }
}
