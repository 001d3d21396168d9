<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class TakeDeviceKey implements \JsonSerializable
{
    public function __construct(
        public readonly string $deviceCode,
        public readonly ?TakeDeviceKeyGrantType $grantType = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'device_code' => $this->deviceCode,
            'grant_type' => $this->grantType,
        ]);
    }
}
