<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** Default: that of the checkpoint, or of the plan. */
final class RuntimeBaselineRequest implements \JsonSerializable
{
    public function __construct(
        public readonly ?int $cpu = null,
        public readonly ?int $memoryMb = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'cpu' => $this->cpu,
            'memory_mb' => $this->memoryMb,
        ]);
    }
}
