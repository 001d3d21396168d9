<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class AcceptInvite implements \JsonSerializable
{
    /** @param string $token The part of the link after the #. */
    public function __construct(
        public readonly string $token,
        public readonly string $password,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'token' => $this->token,
            'password' => $this->password,
        ]);
    }
}
