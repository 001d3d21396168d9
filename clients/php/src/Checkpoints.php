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

    /**
     * @param string|null $name all versions of this name
     * @return \Generator<int, Checkpoint>
     */
    public function list(
        ?string $team = null,
        ?string $sandboxId = null,
        int $pageSize = 50,
        ?string $name = null,
    ): \Generator {
        $query = ['team' => $team, 'sandbox_id' => $sandboxId, 'limit' => $pageSize, 'name' => $name];
        return $this->api->pages(Operation::ListCheckpoints, [], $query, 'checkpoints', Checkpoint::read(...));
    }

    /** By an id, or as name[:version]; without a version the newest of the name. */
    public function get(string $id, ?string $team = null): Checkpoint
    {
        return Checkpoint::read($this->api->call(Operation::ShowCheckpoint, ['id' => $id], ['team' => $team]));
    }

    /** By an id, or as name:version. */
    public function delete(string $id, ?string $team = null): void
    {
        if (str_contains($id, ':')) {
            $id = $this->get($id, $team)->id;
        }
        $this->api->call(Operation::DeleteCheckpoint, ['id' => $id]);
    }
}
