<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class LifecycleRequest implements \JsonSerializable
{
    /**
     * @param OnTimeout|null $onTimeout Default `kill`.
     * @param bool|null $autoResume Needs `on_timeout` = `pause`. Default false.
     * @param bool|null $pauseMemory Whether a pause at the deadline keeps the memory. Without it the programs end,
     *   the disk is kept, and a resume starts it again. Default: true.
     * @param OnPauseFailure|null $onPauseFailure Default `disk`: a pause that cannot keep the memory stops the
     *   sandbox with its disk only. `keep_running`: the pause is refused and the sandbox keeps running (409
     *   `memory_not_kept` when what runs in it is the cause, 503 `runtime_unavailable` when the host was short of
     *   something); a pause at the deadline is then tried again after 10 seconds, later each time up to 320. A sandbox
     *   with volumes never keeps its memory, which is no failure.
     * @param int|null $idleTimeout The sandbox is paused when it was idle for so many seconds: no network packets
     *   but those of the service, and less than 2 % of one processor. It is measured every 15 seconds. Default null:
     *   never.
     * @param LifecycleIdleConnections|null $idleConnections Default `wait`: an open TCP connection from the sandbox
     *   to the outside keeps it awake, even without packets, such as the wait for a model's answer. `ignore`: it does
     *   not. A pause keeps the connection in the sandbox's memory, but the other side may close it.
     */
    public function __construct(
        public readonly ?OnTimeout $onTimeout = null,
        public readonly ?bool $autoResume = null,
        public readonly ?bool $pauseMemory = null,
        public readonly ?OnPauseFailure $onPauseFailure = null,
        public readonly ?int $idleTimeout = null,
        public readonly ?LifecycleIdleConnections $idleConnections = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'on_timeout' => $this->onTimeout,
            'auto_resume' => $this->autoResume,
            'pause_memory' => $this->pauseMemory,
            'on_pause_failure' => $this->onPauseFailure,
            'idle_timeout' => $this->idleTimeout,
            'idle_connections' => $this->idleConnections,
        ]);
    }
}
