<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class UpdateVolumePath implements \JsonSerializable
{
    /**
     * @param string|null $mode Octal; a link has none.
     * @param int|null $uid Its owner; `user` of the sandboxes is 1000.
     * @param int|null $gid Its group.
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
