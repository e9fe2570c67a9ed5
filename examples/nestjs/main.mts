/**
 * NestJS 11 and 12 on Fastify: a guard that refuses as `requireSession()` does, and a decorator for the session.
 *
 * TypeScript needs `experimentalDecorators` here, as every application of Nest does.
 *
 * @module
 */
import "reflect-metadata";
import { type CanActivate, createParamDecorator, type ExecutionContext, HttpException } from "@nestjs/common";
import { Controller, Get, Module, UseGuards } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { FastifyAdapter, type NestFastifyApplication } from "@nestjs/platform-fastify";
import process from "node:process";
import { FastifyAuth, type FastifyAuthError, getSession, requireSession, type Session } from "fastify-authjs";
import { authConfig } from "../auth.ts";

const config = authConfig();

// The glue: from here to the next comment
const guard = requireSession(config);

class SessionGuard implements CanActivate {
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    await guard(http.getRequest(), http.getResponse()).catch(refuse);
    return !http.getResponse().sent; // a browser has been redirected to the sign-in page
  }
}

/** Nest logs every error that is not its own, and leaves its `code` out. */
function refuse(error: FastifyAuthError): never {
  const { statusCode = 500, code, message } = error;
  throw statusCode < 500 ? new HttpException({ statusCode, code, message }, statusCode) : error;
}

const CurrentSession = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  getSession(context.switchToHttp().getRequest(), config)
);
// The application

@Controller()
class MeController {
  @Get("me")
  @UseGuards(SessionGuard)
  me(@CurrentSession() session: Session) {
    return session.user;
  }
}

@Module({ controllers: [MeController] })
class AppModule {}

const app = await NestFactory.create<NestFastifyApplication>(AppModule, new FastifyAdapter());
await app.register(FastifyAuth(config), { prefix: "/auth" });
await app.listen(process.env.PORT ?? 3000, "127.0.0.1");
console.log(await app.getUrl());
