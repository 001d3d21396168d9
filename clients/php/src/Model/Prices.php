<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** Decimal numbers as text. */
final class Prices
{
    public function __construct(
        public readonly string $currency,
        public readonly string $vcpuHour,
        public readonly string $memoryGbHour,
        public readonly string $storageGbMonth,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            currency: $fields->string('currency'),
            vcpuHour: $fields->string('vcpu_hour'),
            memoryGbHour: $fields->string('memory_gb_hour'),
            storageGbMonth: $fields->string('storage_gb_month'),
        );
    }
}
