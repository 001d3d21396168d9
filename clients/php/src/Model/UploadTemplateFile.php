<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class UploadTemplateFile implements \JsonSerializable
{
    /** @param string $contentB64 The archive, up to 8 MiB; larger ones are sent as application/octet-stream. */
    public function __construct(
        public readonly string $contentB64,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'content_b64' => $this->contentB64,
        ]);
    }
}
