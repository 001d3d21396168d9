<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class InviteMember implements \JsonSerializable
{
    public function __construct(
        public readonly string $name,
        public readonly Role $role,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'name' => $this->name,
            'role' => $this->role,
        ]);
    }
}
