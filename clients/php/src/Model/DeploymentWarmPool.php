<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class DeploymentWarmPool
{
    /**
     * @param int $warm Creates that found an instance waiting.
     * @param int $waiting Instances that wait now.
     */
    public function __construct(
        public readonly string $template,
        public readonly int $cpu,
        public readonly int $memoryMb,
        public readonly int $diskGb,
        public readonly int $creates,
        public readonly int $warm,
        public readonly int $waiting,
        public readonly string $whyCold,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            template: $fields->string('template'),
            cpu: $fields->int('cpu'),
            memoryMb: $fields->int('memory_mb'),
            diskGb: $fields->int('disk_gb'),
            creates: $fields->int('creates'),
            warm: $fields->int('warm'),
            waiting: $fields->int('waiting'),
            whyCold: $fields->string('why_cold'),
        );
    }
}
