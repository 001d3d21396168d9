<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class DeviceLogin
{
    /**
     * @param string $deviceCode A secret: ask with it for the key.
     * @param int $expiresIn Seconds.
     * @param int $interval Seconds between two questions.
     */
    public function __construct(
        public readonly string $deviceCode,
        public readonly string $userCode,
        public readonly string $verificationUri,
        public readonly string $verificationUriComplete,
        public readonly int $expiresIn,
        public readonly int $interval,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            deviceCode: $fields->string('device_code'),
            userCode: $fields->string('user_code'),
            verificationUri: $fields->string('verification_uri'),
            verificationUriComplete: $fields->string('verification_uri_complete'),
            expiresIn: $fields->int('expires_in'),
            interval: $fields->int('interval'),
        );
    }
}
