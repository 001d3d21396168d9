<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Volume;

use Sandlot\Http\Api;
use Sandlot\Model\Operation;
use Sandlot\Model\Volume as VolumeInfo;

/** One volume. */
final class Volume
{
    public readonly string $id;
    public readonly string $name;
    public readonly VolumeFiles $files;

    /** @internal */
    public function __construct(private readonly Api $api, private VolumeInfo $info)
    {
        $this->id = $info->id;
        $this->name = $info->name;
        $this->files = new VolumeFiles($api, $info->id);
    }

    /** Returns the data of the last answer, without a request. */
    public function info(): VolumeInfo
    {
        return $this->info;
    }

    public function refresh(): self
    {
        $this->info = VolumeInfo::read($this->api->call(Operation::ShowVolume, ['id' => $this->id]));
        return $this;
    }

    /** @throws \Sandlot\Exception\Api\VolumeAttachedException while a sandbox mounts it */
    public function delete(): void
    {
        $this->api->call(Operation::DeleteVolume, ['id' => $this->id]);
    }
}
