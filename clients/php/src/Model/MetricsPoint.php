<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class MetricsPoint
{
    /**
     * @param \DateTimeImmutable $at Time of the sample, or beginning of the piece.
     * @param float|null $vcpusUsed Processors in use, a mean: 0.5 is half of one. null: not known, as for the first
     *   sample after a start.
     * @param float|null $vcpusUsedMax The highest such mean between two samples.
     * @param int $memoryUsedBytes Memory in use without the page cache, mean.
     * @param int $memoryUsedBytesMax The same, highest.
     * @param int $memoryCacheBytes Page cache, mean.
     * @param int|null $diskUsedBytes The highest size of the sandbox's own disk beyond its template; measured less
     *   often than the rest. null: not yet.
     */
    public function __construct(
        public readonly \DateTimeImmutable $at,
        public readonly ?float $vcpusUsed,
        public readonly ?float $vcpusUsedMax,
        public readonly int $memoryUsedBytes,
        public readonly int $memoryUsedBytesMax,
        public readonly int $memoryCacheBytes,
        public readonly ?int $diskUsedBytes,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            at: $fields->time('at'),
            vcpusUsed: $fields->floatOrNull('vcpus_used'),
            vcpusUsedMax: $fields->floatOrNull('vcpus_used_max'),
            memoryUsedBytes: $fields->int('memory_used_bytes'),
            memoryUsedBytesMax: $fields->int('memory_used_bytes_max'),
            memoryCacheBytes: $fields->int('memory_cache_bytes'),
            diskUsedBytes: $fields->intOrNull('disk_used_bytes'),
        );
    }
}
