<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class UpdateTemplate implements \JsonSerializable
{
    /**
     * @param string|null $team Slug; default: the personal team of the key's user, or else the only one that the key
     *   reaches.
     */
    public function __construct(
        public readonly bool $public,
        public readonly ?string $team = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'public' => $this->public,
            'team' => $this->team,
        ]);
    }
}
