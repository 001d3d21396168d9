<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class HostJoin
{
    /**
     * @param string $name Of the host.
     * @param HostJoinOptions $options Settings from the operator; 0: the machine decides.
     * @param array<string, string>|null $files By name; null when the host is active.
     */
    public function __construct(
        public readonly string $name,
        public readonly HostJoinState $state,
        public readonly \DateTimeImmutable $since,
        public readonly string $failure,
        public readonly HostJoinOptions $options,
        public readonly ?array $files,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            name: $fields->string('name'),
            state: $fields->enum('state', HostJoinState::class),
            since: $fields->time('since'),
            failure: $fields->string('failure'),
            options: $fields->object('options', HostJoinOptions::read(...)),
            files: $fields->mapOrNull('files'),
        );
    }
}
