<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Http;

/** Time limits, in seconds. */
final class Timeouts
{
    /**
     * @param float $connect for a connection
     * @param float|null $answer until an answer begins; null: no limit while bytes move ($idle)
     * @param float $idle between two pieces of a body, in either direction
     */
    public function __construct(
        public readonly float $connect = 10.0,
        public readonly ?float $answer = 300.0,
        public readonly float $idle = 60.0,
    ) {
    }

    public function withAnswer(?float $seconds): self
    {
        return new self($this->connect, $seconds, $this->idle);
    }
}
