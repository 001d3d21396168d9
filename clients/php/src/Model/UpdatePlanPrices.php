<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** Decimal numbers as text. */
final class UpdatePlanPrices implements \JsonSerializable
{
    public function __construct(
        public readonly ?string $currency = null,
        public readonly ?string $vcpuHour = null,
        public readonly ?string $memoryGbHour = null,
        public readonly ?string $storageGbMonth = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'currency' => $this->currency,
            'vcpu_hour' => $this->vcpuHour,
            'memory_gb_hour' => $this->memoryGbHour,
            'storage_gb_month' => $this->storageGbMonth,
        ]);
    }
}
