<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class WebhookCreate implements \JsonSerializable
{
    /**
     * @param string $url Where to; http or https, in the internet unless the operator opens other networks.
     * @param list<EventKind>|null $kinds Only events of these kinds; none: of all.
     * @param bool|null $enabled Whether it is sent to.
     */
    public function __construct(
        public readonly string $url,
        public readonly ?string $team = null,
        public readonly ?array $kinds = null,
        public readonly ?bool $enabled = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'url' => $this->url,
            'team' => $this->team,
            'kinds' => $this->kinds,
            'enabled' => $this->enabled,
        ]);
    }
}
