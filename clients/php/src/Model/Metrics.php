<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class Metrics
{
    /** @param list<MetricsPoint> $points */
    public function __construct(
        public readonly string $sandbox,
        public readonly \DateTimeImmutable $from,
        public readonly \DateTimeImmutable $to,
        public readonly ?int $stepS,
        public readonly int $cpu,
        public readonly int $memoryMb,
        public readonly int $diskGb,
        public readonly array $points,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            sandbox: $fields->string('sandbox'),
            from: $fields->time('from'),
            to: $fields->time('to'),
            stepS: $fields->intOrNull('step_s'),
            cpu: $fields->int('cpu'),
            memoryMb: $fields->int('memory_mb'),
            diskGb: $fields->int('disk_gb'),
            points: $fields->objects('points', MetricsPoint::read(...)),
        );
    }
}
