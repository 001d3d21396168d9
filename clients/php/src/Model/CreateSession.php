<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class CreateSession implements \JsonSerializable
{
    /**
     * @param Lifetime|null $lifetime `session`: for the time that every session has. `sandbox`: as long as the
     *   sandbox lives, until DELETE ends all such tokens. Default: session.
     */
    public function __construct(
        public readonly ?Lifetime $lifetime = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'lifetime' => $this->lifetime,
        ]);
    }
}
