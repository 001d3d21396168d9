<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class OperatedSandbox
{
    /** @param string $state The state, also a state that teams do not see. */
    public function __construct(
        public readonly string $id,
        public readonly ?string $name,
        public readonly string $team,
        public readonly string $state,
        public readonly string $template,
        public readonly int $cpu,
        public readonly int $memoryMb,
        public readonly string $host,
        public readonly \DateTimeImmutable $createdAt,
        public readonly ?\DateTimeImmutable $deadline,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            id: $fields->string('id'),
            name: $fields->stringOrNull('name'),
            team: $fields->string('team'),
            state: $fields->string('state'),
            template: $fields->string('template'),
            cpu: $fields->int('cpu'),
            memoryMb: $fields->int('memory_mb'),
            host: $fields->string('host'),
            createdAt: $fields->time('created_at'),
            deadline: $fields->timeOrNull('deadline'),
        );
    }
}
