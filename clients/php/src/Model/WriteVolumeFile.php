<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class WriteVolumeFile implements \JsonSerializable
{
    /**
     * @param string $path Absolute path in the volume.
     * @param string $contentB64 Base64 with padding and without blanks; the whole body is at most 12 MiB.
     * @param string|null $mode Octal. Default: that of the file that is replaced, else 0644.
     * @param int|null $uid Its owner; `user` of the sandboxes is 1000. Default: that of the file that is replaced,
     *   else 1000.
     * @param int|null $gid Its group. Default: that of the file that is replaced, else 1000.
     */
    public function __construct(
        public readonly string $path,
        public readonly string $contentB64,
        public readonly ?string $mode = null,
        public readonly ?int $uid = null,
        public readonly ?int $gid = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'path' => $this->path,
            'content_b64' => $this->contentB64,
            'mode' => $this->mode,
            'uid' => $this->uid,
            'gid' => $this->gid,
        ]);
    }
}
