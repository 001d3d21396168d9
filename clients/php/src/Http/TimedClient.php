<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Http;

use Psr\Http\Client\ClientInterface;
use Psr\Http\Message\RequestInterface;
use Psr\Http\Message\ResponseInterface;

/** A PSR-18 client that can be told how long to wait for one request. Others have time-outs of their own. */
interface TimedClient extends ClientInterface
{
    /**
     * Answers when the head of the response is there; its body may still be on the way.
     *
     * @param bool $once whether the request must not be sent a second time, on whatever connection
     *
     * @throws \Sandlot\Exception\ConnectionException
     */
    public function sendWithin(RequestInterface $request, Timeouts $timeouts, bool $once): ResponseInterface;
}
