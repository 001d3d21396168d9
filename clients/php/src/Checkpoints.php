<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot;

use Sandlot\Http\Api;
use Sandlot\Model\Checkpoint;
use Sandlot\Model\Operation;

/** Copies of sandboxes. Sandbox::checkpoint() makes one. */
final class Checkpoints
{
    /** @internal */
    public function __construct(private readonly Api $api)
    {
    }

    /**
     * @param string|null $name only the versions of this name
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

    /** Finds a checkpoint by its id or as name[:version]. Without a version it is the newest one. */
    public function get(string $id, ?string $team = null): Checkpoint
    {
        return Checkpoint::read($this->api->call(Operation::ShowCheckpoint, ['id' => $id], ['team' => $team]));
    }

    /** Deletes a checkpoint by its id or as name:version. */
    public function delete(string $id, ?string $team = null): void
    {
        if (str_contains($id, ':')) {
            $id = $this->get($id, $team)->id;
        }
        $this->api->call(Operation::DeleteCheckpoint, ['id' => $id]);
    }
}
