<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class JoinHost implements \JsonSerializable
{
    /**
     * @param string $machine A secret of the machine's own, by which it is known again.
     * @param JoinHostOffer|null $offer The machine is set up. The offer has its addresses for the front nodes, and
     *   its size.
     */
    public function __construct(
        public readonly string $token,
        public readonly string $machine,
        public readonly ?JoinHostOffer $offer = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'token' => $this->token,
            'machine' => $this->machine,
            'offer' => $this->offer,
        ]);
    }
}
