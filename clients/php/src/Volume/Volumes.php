<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Volume;

use Sandlot\Http\Api;
use Sandlot\Model\CreateVolume;
use Sandlot\Model\Fields;
use Sandlot\Model\Operation;
use Sandlot\Model\Volume as VolumeInfo;

/** Disks of a team that its sandboxes mount and that outlive them. */
final class Volumes
{
    /** @internal */
    public function __construct(private readonly Api $api)
    {
    }

    public function create(string $name, ?string $team = null): Volume
    {
        $wish = new CreateVolume(name: $name, team: $team);
        return $this->volume($this->api->call(Operation::CreateVolume, body: $wish));
    }

    public function get(string $id): Volume
    {
        return $this->volume($this->api->call(Operation::ShowVolume, ['id' => $id]));
    }

    /** @return \Generator<int, Volume> */
    public function list(?string $team = null, int $pageSize = 50): \Generator
    {
        $query = ['team' => $team, 'limit' => $pageSize];
        return $this->api->pages(Operation::ListVolumes, [], $query, 'volumes', $this->volume(...));
    }

    private function volume(Fields $fields): Volume
    {
        return new Volume($this->api, VolumeInfo::read($fields));
    }
}
