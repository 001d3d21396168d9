<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** A value that requests of sandboxes get on their way out. No answer has the value. */
final class Secret
{
    /**
     * @param list<string> $hosts Hosts that it may be sent to.
     * @param int $version Counts changes of value and hosts.
     * @param \DateTimeImmutable|null $lastUsedAt When a request of a sandbox last got it, some seconds late.
     */
    public function __construct(
        public readonly string $name,
        public readonly string $team,
        public readonly array $hosts,
        public readonly int $version,
        public readonly \DateTimeImmutable $createdAt,
        public readonly \DateTimeImmutable $updatedAt,
        public readonly ?\DateTimeImmutable $lastUsedAt,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            name: $fields->string('name'),
            team: $fields->string('team'),
            hosts: $fields->strings('hosts'),
            version: $fields->int('version'),
            createdAt: $fields->time('created_at'),
            updatedAt: $fields->time('updated_at'),
            lastUsedAt: $fields->timeOrNull('last_used_at'),
        );
    }
}
