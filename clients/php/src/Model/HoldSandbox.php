<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class HoldSandbox implements \JsonSerializable
{
    /** @param int $seconds From now on. */
    public function __construct(
        public readonly int $seconds,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'seconds' => $this->seconds,
        ]);
    }
}
