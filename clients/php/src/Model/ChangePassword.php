<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class ChangePassword implements \JsonSerializable
{
    public function __construct(
        public readonly string $old,
        public readonly string $new,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'old' => $this->old,
            'new' => $this->new,
        ]);
    }
}
