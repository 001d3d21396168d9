<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class Login implements \JsonSerializable
{
    /** @param string|null $code Of the second factor, or a recovery code. */
    public function __construct(
        public readonly string $name,
        public readonly string $password,
        public readonly ?string $code = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'name' => $this->name,
            'password' => $this->password,
            'code' => $this->code,
        ]);
    }
}
