<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot;

use Sandlot\Http\Api;
use Sandlot\Model\Checkpoint;
use Sandlot\Model\Operation;

/** Copies of disks; Sandbox::checkpoint() makes one. */
final class Checkpoints
{
    /** @internal */
    public function __construct(private readonly Api $api)
    {
    }

    /** @return \Generator<int, Checkpoint> */
    public function list(?string $team = null, ?string $sandboxId = null, int $pageSize = 50): \Generator
    {
        $query = ['team' => $team, 'sandbox_id' => $sandboxId, 'limit' => $pageSize];
        return $this->api->pages(Operation::ListCheckpoints, [], $query, 'checkpoints', Checkpoint::read(...));
    }

    public function get(string $id): Checkpoint
    {
        return Checkpoint::read($this->api->call(Operation::ShowCheckpoint, ['id' => $id]));
    }

    public function delete(string $id): void
    {
        $this->api->call(Operation::DeleteCheckpoint, ['id' => $id]);
    }
}
