<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class ConfirmTotp implements \JsonSerializable
{
    public function __construct(
        public readonly string $code,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'code' => $this->code,
        ]);
    }
}
