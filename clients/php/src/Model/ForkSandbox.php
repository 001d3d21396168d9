<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class ForkSandbox implements \JsonSerializable
{
    /**
     * @param int|null $count How many sandboxes to make.
     * @param string|null $name The name of a single one, as at a create. Forks do not have the name of the original.
     * @param int|null $timeout Seconds until each one's deadline; left out: the original's time-out.
     */
    public function __construct(
        public readonly ?int $count = null,
        public readonly ?string $name = null,
        public readonly ?int $timeout = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'count' => $this->count,
            'name' => $this->name,
            'timeout' => $this->timeout,
        ]);
    }
}
