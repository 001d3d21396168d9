<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class RollbackSandbox implements \JsonSerializable
{
    /**
     * @param string $checkpoint An id, a name, `name:version` or `name:tag`.
     * @param int|null $timeout Seconds from now. Default: the sandbox's timeout.
     */
    public function __construct(
        public readonly string $checkpoint,
        public readonly ?int $timeout = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'checkpoint' => $this->checkpoint,
            'timeout' => $this->timeout,
        ]);
    }
}
