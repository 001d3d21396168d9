<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class LoginSession
{
    /**
     * @param \DateTimeImmutable $lastSeenAt To the minute.
     * @param \DateTimeImmutable $expiresAt Without another request; one moves it on, up to the end that every
     *   sign-in has.
     * @param bool $current The one that asks.
     */
    public function __construct(
        public readonly string $id,
        public readonly LoginSessionMethod $method,
        public readonly \DateTimeImmutable $createdAt,
        public readonly \DateTimeImmutable $lastSeenAt,
        public readonly \DateTimeImmutable $expiresAt,
        public readonly string $address,
        public readonly string $userAgent,
        public readonly bool $current,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            id: $fields->string('id'),
            method: $fields->enum('method', LoginSessionMethod::class),
            createdAt: $fields->time('created_at'),
            lastSeenAt: $fields->time('last_seen_at'),
            expiresAt: $fields->time('expires_at'),
            address: $fields->string('address'),
            userAgent: $fields->string('user_agent'),
            current: $fields->bool('current'),
        );
    }
}
