<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class MakeVolumeDirectory implements \JsonSerializable
{
    /**
     * @param string|null $mode Octal, of the last directory; those above it that are made have 0755. Default: 0755.
     * @param int|null $uid Its owner; `user` of the sandboxes is 1000. Default: 1000.
     * @param int|null $gid Its group. Default: 1000.
     */
    public function __construct(
        public readonly string $path,
        public readonly ?string $mode = null,
        public readonly ?int $uid = null,
        public readonly ?int $gid = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'path' => $this->path,
            'mode' => $this->mode,
            'uid' => $this->uid,
            'gid' => $this->gid,
        ]);
    }
}
