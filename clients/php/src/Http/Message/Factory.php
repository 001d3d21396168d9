<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Http\Message;

use Psr\Http\Message\RequestFactoryInterface;
use Psr\Http\Message\RequestInterface;
use Psr\Http\Message\StreamFactoryInterface;
use Psr\Http\Message\StreamInterface;
use Psr\Http\Message\UriInterface;

/** Requests and bodies for programs that bring no PSR-17 factories. */
final class Factory implements RequestFactoryInterface, StreamFactoryInterface
{
    public function createRequest(string $method, $uri): RequestInterface
    {
        return new Request($method, $uri instanceof UriInterface ? $uri : Uri::parse($uri));
    }

    public function createStream(string $content = ''): StreamInterface
    {
        return ResourceStream::of($content);
    }

    public function createStreamFromFile(string $filename, string $mode = 'r'): StreamInterface
    {
        $file = @fopen($filename, $mode);
        return $file ? new ResourceStream($file) : throw new \RuntimeException("{$filename} cannot be opened.");
    }

    public function createStreamFromResource($resource): StreamInterface
    {
        return new ResourceStream($resource);
    }
}
