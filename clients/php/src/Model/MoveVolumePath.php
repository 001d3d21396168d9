<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class MoveVolumePath implements \JsonSerializable
{
    /** @param string|null $fromB64 Instead of from: the bytes of a path that is no UTF-8, in base64. */
    public function __construct(
        public readonly string $to,
        public readonly ?string $from = null,
        public readonly ?string $fromB64 = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'to' => $this->to,
            'from' => $this->from,
            'from_b64' => $this->fromB64,
        ]);
    }
}
