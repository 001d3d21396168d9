<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class CreateCheckpoint implements \JsonSerializable
{
    /**
     * @param bool|null $memory Keep the memory and the processes too, also of a sandbox that is stopped with its
     *   memory. Refused with `memory_not_kept` for a sandbox that has volumes, is a virtual machine, or runs programs
     *   that cannot be kept.
     */
    public function __construct(
        public readonly ?string $name = null,
        public readonly ?bool $memory = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'name' => $this->name,
            'memory' => $this->memory,
        ]);
    }
}
