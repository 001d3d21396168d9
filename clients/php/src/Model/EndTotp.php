<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class EndTotp implements \JsonSerializable
{
    public function __construct(
        public readonly string $password,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'password' => $this->password,
        ]);
    }
}
