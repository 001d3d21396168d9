<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class AuthorizeDevice implements \JsonSerializable
{
    /** @param string $clientName Shown to who confirms: a machine's name, say. ASCII. */
    public function __construct(
        public readonly string $clientName,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'client_name' => $this->clientName,
        ]);
    }
}
