<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class ResumeSandbox implements \JsonSerializable
{
    /**
     * @param int|null $timeout Seconds from now; default: the sandbox's own timeout.
     * @param bool|null $extendOnly Of a sandbox that runs already the deadline is moved only to a later time, never
     *   to an earlier one. Default: false.
     * @param bool|null $memory false: a sandbox that is stopped starts from its disk, and loses its memory. Default:
     *   true.
     */
    public function __construct(
        public readonly ?int $timeout = null,
        public readonly ?bool $extendOnly = null,
        public readonly ?bool $memory = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'timeout' => $this->timeout,
            'extend_only' => $this->extendOnly,
            'memory' => $this->memory,
        ]);
    }
}
