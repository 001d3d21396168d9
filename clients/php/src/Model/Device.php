<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class Device
{
    /** @param string $address From where it asked. */
    public function __construct(
        public readonly string $userCode,
        public readonly string $clientName,
        public readonly string $address,
        public readonly \DateTimeImmutable $createdAt,
        public readonly \DateTimeImmutable $expiresAt,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            userCode: $fields->string('user_code'),
            clientName: $fields->string('client_name'),
            address: $fields->string('address'),
            createdAt: $fields->time('created_at'),
            expiresAt: $fields->time('expires_at'),
        );
    }
}
